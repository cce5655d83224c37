! Heat in a rod that is distributed among the ranks, with mpif.h: halos by Sendrecv, and every step
! the heat content by Allreduce. Fixed-point numbers: sums do not depend on the order.
!
! Arguments: [steps = 20] [cells a rank = 50]
! MPI calls of a step: Sendrecv and Get_count twice, Allreduce.
program heat_mpif
  implicit none
  include 'mpif.h'
  integer, parameter :: wide = selected_int_kind(18), lengths = 61, no_log = -1
  integer, parameter :: values = 2
  integer, parameter :: room = 1 + values + lengths - 1, rightwards = 1, leftwards = 2
  integer :: error, rank, ranks, left, right, steps, cells, k
  integer(wide) :: mine, total
  integer(wide), allocatable :: now(:), next(:)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call log_begin(rank, ranks)
  steps = argument(1, 20)
  cells = argument(2, 50)
  left = rank - 1
  right = rank + 1
  if (rank == 0) left = MPI_PROC_NULL
  if (rank == ranks - 1) right = MPI_PROC_NULL
  allocate (now(0:cells + 1), next(0:cells + 1))
  now = 0
  if (rank == 0) now(0) = 1000000000_wide
  total = 0
  do k = 1, steps
    call shift(now(cells), right, left, rightwards, now(0))
    call shift(now(1), left, right, leftwards, now(cells + 1))
    call conduct()
    mine = sum(now(1:cells))
    call MPI_Allreduce(mine, total, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD, error)
  end do
  if (rank == 0) print '(a,i0,a,i0,a,i0)', 'ranks=', ranks, ' iterations=', steps, &
    ' checksum=', total
  deallocate (now, next)
  call MPI_Finalize(error)

contains

  subroutine shift(edge, to, from, tag, halo)
    integer(wide), intent(in) :: edge
    integer, intent(in) :: to, from, tag
    integer(wide), intent(inout) :: halo
    double precision :: out(room), in(room)
    integer :: status(MPI_STATUS_SIZE), length, bytes
    out = 0
    out(2) = transfer(edge, out(2))
    call message_made(out, values, rank, to, tag, length)
    call MPI_Sendrecv(out, length, MPI_DOUBLE_PRECISION, to, tag, in, room, &
                      MPI_DOUBLE_PRECISION, from, tag, MPI_COMM_WORLD, status, error)
    call MPI_Get_count(status, MPI_BYTE, bytes, error)
    call message_got(in, status(MPI_SOURCE), rank, tag, bytes)
    if (from /= MPI_PROC_NULL) halo = transfer(in(2), halo)
  end subroutine shift

  subroutine conduct()
    integer :: i
    do i = 1, cells
      next(i) = now(i) + (now(i - 1) - 2 * now(i) + now(i + 1)) / 4
    end do
    now(1:cells) = next(1:cells)
  end subroutine conduct

  include 'message_log.inc'

end program heat_mpif
