! Numbers that go round a ring of ranks, with `use mpi_f08`: Irecv, Send and Wait, then an
! Allreduce; every fourth step a Bcast and a Barrier.
!
! Arguments: [steps = 20]
! MPI calls of a step: Irecv, Send, Wait, Get_count, Allreduce; every fourth also Bcast and
! Barrier.
program ring_f08
  use mpi_f08
  implicit none
  integer, parameter :: wide = selected_int_kind(18), lengths = 61, no_log = -1
  integer, parameter :: values = 1
  integer, parameter :: room = 1 + values + lengths - 1, onwards = 5
  integer :: rank, ranks, steps, k
  integer(wide) :: number, total

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call log_begin(rank, ranks)
  steps = argument(1, 20)
  number = rank + 1
  total = 0
  do k = 1, steps
    call pass_on()
    call MPI_Allreduce(number, total, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD)
    number = mod(number + total, 1000003_wide)
    if (mod(k, 4) == 0) call agree()
  end do
  if (rank == 0) print '(a,i0,a,i0,a,i0)', 'ranks=', ranks, ' iterations=', steps, &
    ' checksum=', total
  call MPI_Finalize()

contains

  subroutine pass_on()
    real(kind(0d0)) :: out(room)
    real(kind(0d0)), asynchronous :: in(room)
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: length, bytes
    call MPI_Irecv(in, room, MPI_DOUBLE_PRECISION, modulo(rank - 1, ranks), onwards, &
                   MPI_COMM_WORLD, request)
    out = 0
    out(2) = transfer(number, out(2))
    call message_made(out, values, rank, modulo(rank + 1, ranks), onwards, length)
    call MPI_Send(out, length, MPI_DOUBLE_PRECISION, modulo(rank + 1, ranks), onwards, &
                  MPI_COMM_WORLD)
    call MPI_Wait(request, status)
    call MPI_Get_count(status, MPI_BYTE, bytes)
    call message_got(in, status%MPI_SOURCE, rank, status%MPI_TAG, bytes)
    number = 3 * transfer(in(2), number) + 1
  end subroutine pass_on

  subroutine agree()
    integer(wide) :: seed
    seed = number
    call MPI_Bcast(seed, 1, MPI_INTEGER8, 0, MPI_COMM_WORLD)
    number = mod(number + seed, 1000003_wide)
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine agree

  include 'message_log.inc'

end program ring_f08
