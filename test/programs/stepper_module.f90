! The regions of stepper_f.f90.
module field_module
  implicit none
  private
  public :: start, advance, solve, account
  integer, allocatable :: now(:), next(:)

contains

  subroutine start(cells)
    integer, intent(in) :: cells
    allocate (now(cells), next(cells))
    now = 1
    next = 1
  end subroutine start

  subroutine advance()
    integer :: i
    !$omp parallel do
    do i = 1, size(now)
      next(i) = now(i) + 1
    end do
    !$omp end parallel do
  end subroutine advance

  subroutine solve(iterations)
    integer, intent(in) :: iterations
    integer :: iteration, i
    do iteration = 1, iterations
      !$omp parallel do
      do i = 1, size(now)
        next(i) = next(i) / 2
      end do
      !$omp end parallel do
      !$omp parallel do
      do i = 1, size(now)
        now(i) = mod(now(i) + next(i), 1000)
      end do
      !$omp end parallel do
    end do
  end subroutine solve

  function account() result(total)
    integer :: total
    total = sum(now)
  end function account

end module field_module
