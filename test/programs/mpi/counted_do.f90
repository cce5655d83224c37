! DO loops with collectives in them; prints the iterations of each, "FUNCTION ITERATIONS" a line.
module counted
  implicit none
  include 'mpif.h'
contains
  subroutine total(value)
    real, intent(inout) :: value
    real :: all
    integer :: ierr
    call MPI_Allreduce(value, all, 1, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierr)
    value = all
  end subroutine

  ! As often as the argument says.
  subroutine solve(trips, value)
    integer, intent(in) :: trips
    real, intent(inout) :: value
    integer :: i
    do i = 1, trips
      call total(value)
      if (value < 0) exit
    end do
  end subroutine

  subroutine advance(steps, value)
    integer, intent(in) :: steps
    real, intent(inout) :: value
    integer :: step, ierr
    do step = 1, steps
      call MPI_Barrier(MPI_COMM_WORLD, ierr)
      if (mod(step, 3) == 0) cycle
      call solve(2 + mod(step, 2), value)
    end do
  end subroutine

  subroutine converge(value)
    real, intent(inout) :: value
    integer :: ierr, tries
    tries = 0
    do while (tries < 9)
      call MPI_Barrier(MPI_COMM_WORLD, ierr)
      call total(value)
      tries = tries + 1
    end do
  end subroutine
end module

program counted_do
  use counted
  implicit none
  integer :: ierr, rank
  real :: value
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  value = 1
  call advance(12, value)
  call converge(value)
  if (rank == 0) then
    print '(a)', 'counted::advance 12', 'counted::solve 20', 'counted::converge 9'
  end if
  call MPI_Finalize(ierr)
end program
