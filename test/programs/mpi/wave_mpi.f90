! A wave on a string that is distributed among the ranks, with `use mpi`: halos by Irecv, Isend and
! Waitall, every step a Barrier, at the end a Reduce. Fixed-point numbers.
!
! Arguments: [steps = 20] [points a rank = 40]
! MPI calls of a step: 2 Irecv, 2 Isend, Waitall, Get_count of what came, Barrier.
program wave_mpi
  use mpi
  implicit none
  integer, parameter :: wide = selected_int_kind(18), lengths = 61, no_log = -1
  integer, parameter :: values = 1
  integer, parameter :: room = 1 + values + lengths - 1, rightwards = 3, leftwards = 4
  integer :: error, rank, ranks, left, right, steps, points, k
  integer(wide) :: mine, total
  integer(wide), allocatable :: before(:), now(:), next(:)
  double precision :: buffers(room, 4)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call log_begin(rank, ranks)
  steps = argument(1, 20)
  points = argument(2, 40)
  left = merge(MPI_PROC_NULL, rank - 1, rank == 0)
  right = merge(MPI_PROC_NULL, rank + 1, rank == ranks - 1)
  allocate (before(0:points + 1), now(0:points + 1), next(0:points + 1))
  now = 0
  now(points / 2) = 1000000_wide * (rank + 1)
  before = now
  do k = 1, steps
    call exchange()
    call move()
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end do
  mine = sum(abs(now(1:points)))
  total = 0
  call MPI_Reduce(mine, total, 1, MPI_INTEGER8, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) print '(a,i0,a,i0,a,i0)', 'ranks=', ranks, ' iterations=', steps, &
    ' checksum=', total
  deallocate (before, now, next)
  call MPI_Finalize(error)

contains

  subroutine exchange()
    integer :: requests(4), status(MPI_STATUS_SIZE, 4), i, length, bytes
    call MPI_Irecv(buffers(:, 1), room, MPI_DOUBLE_PRECISION, left, rightwards, &
                   MPI_COMM_WORLD, requests(1), error)
    call MPI_Irecv(buffers(:, 2), room, MPI_DOUBLE_PRECISION, right, leftwards, &
                   MPI_COMM_WORLD, requests(2), error)
    buffers(:, 3:4) = 0
    buffers(2, 3) = transfer(now(1), buffers(2, 3))
    buffers(2, 4) = transfer(now(points), buffers(2, 4))
    call message_made(buffers(:, 3), values, rank, left, leftwards, length)
    call MPI_Isend(buffers(:, 3), length, MPI_DOUBLE_PRECISION, left, leftwards, &
                   MPI_COMM_WORLD, requests(3), error)
    call message_made(buffers(:, 4), values, rank, right, rightwards, length)
    call MPI_Isend(buffers(:, 4), length, MPI_DOUBLE_PRECISION, right, rightwards, &
                   MPI_COMM_WORLD, requests(4), error)
    call MPI_Waitall(4, requests, status, error)
    do i = 1, 2  ! MPICH's Waitall says source 0 of a receive from MPI_PROC_NULL
      if (merge(left, right, i == 1) == MPI_PROC_NULL) cycle
      call MPI_Get_count(status(:, i), MPI_BYTE, bytes, error)
      call message_got(buffers(:, i), status(MPI_SOURCE, i), rank, status(MPI_TAG, i), &
                       bytes)
    end do
    if (left /= MPI_PROC_NULL) now(0) = transfer(buffers(2, 1), now(0))
    if (right /= MPI_PROC_NULL) now(points + 1) = transfer(buffers(2, 2), now(0))
  end subroutine exchange

  subroutine move()
    integer :: i
    do i = 1, points
      next(i) = 2 * now(i) - before(i) + (now(i - 1) - 2 * now(i) + now(i + 1)) / 2
    end do
    before(1:points) = now(1:points)
    now(1:points) = next(1:points)
  end subroutine move

  include 'message_log.inc'

end program wave_mpi
