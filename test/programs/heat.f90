! Heat in a rod that is warmed at one end: explicit steps, and every so many of them the
! heat content. Regions are in contained subroutines, as usual in Fortran.
!
! Arguments: [steps = 300] [cells = 2000]
! Regions of a step: conduct, accept (2 events).
program heat
  implicit none
  integer, parameter :: wide = selected_int_kind(18)
  integer(wide) :: steps, cells, k, checksum
  integer(wide), allocatable :: now(:), next(:)

  steps = argument(1, 300_wide)
  cells = argument(2, 2000_wide)
  allocate (now(0:cells + 1), next(0:cells + 1))
  now = 0
  next = 0
  now(0) = 1000000000_wide
  do k = 1, steps
    call conduct()
    call accept()
  end do
  call content(checksum)
  print '(a,i0,a,i0)', 'iterations=', steps, ' checksum=', checksum
  deallocate (now, next)  ! a main program's arrays are kept for ever otherwise

contains

  ! Fixed-point numbers: sums do not depend on the order.
  subroutine conduct()
    integer(wide) :: i
    !$omp parallel do schedule(static)
    do i = 1, cells
      next(i) = now(i) + (now(i - 1) - 2 * now(i) + now(i + 1)) / 4
    end do
    !$omp end parallel do
  end subroutine conduct

  subroutine accept()
    integer(wide) :: i
    !$omp parallel
    !$omp do schedule(static)
    do i = 1, cells
      now(i) = next(i)
    end do
    !$omp end do nowait
    !$omp end parallel
  end subroutine accept

  subroutine content(total)
    integer(wide), intent(out) :: total
    integer(wide) :: i
    total = 0
    !$omp parallel do schedule(dynamic, 64) reduction(+:total)
    do i = 1, cells
      total = total + now(i) * mod(i, 7_wide)
    end do
    !$omp end parallel do
  end subroutine content

  function argument(number, default_value) result(value)
    integer, intent(in) :: number
    integer(wide), intent(in) :: default_value
    integer(wide) :: value
    character(len=32) :: text
    integer :: problem
    value = default_value
    if (command_argument_count() < number) return
    call get_command_argument(number, text)
    read (text, *, iostat=problem) value
    if (problem /= 0 .or. value < 0) stop 2
  end function argument

end program heat
