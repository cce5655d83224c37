! Loops whose lines are known: each is marked with its depth in its procedure. Not run.
module known
  implicit none
contains
  subroutine nest(n)
    integer, intent(in) :: n
    integer :: i, j
    external :: use_it
    do i = 1, n  ! loop 1
      call use_it(i)
      do j = i, 1, -1  ! loop 2
        call use_it(j)
      end do
    end do
  end subroutine nest

  subroutine until()
    integer, external :: next_value
    external :: use_it
    do
      call use_it(1)  ! loop 1 or beside
      if (next_value() == 3) exit
      call use_it(2)
    end do
  end subroutine until

  subroutine whilst()
    integer, external :: next_value
    external :: use_it
    do while (next_value() /= 0)  ! loop 1
      call use_it(3)
    end do
  end subroutine whilst

  subroutine saxpy(to, from, factor, n)
    integer, intent(in) :: n
    real, intent(inout) :: to(n)
    real, intent(in) :: from(n), factor
    integer :: i
    do i = 1, n  ! loop 1 or beside
      to(i) = to(i) + factor * from(i)
    end do
  end subroutine saxpy

  subroutine matrix(to, a, b, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: to(n, n)
    real(8), intent(in) :: a(n, n), b(n, n)
    integer :: i, j, k
    do j = 1, n  ! loop 1
      do k = 1, n  ! loop 2
        do i = 1, n  ! loop 3 or beside
          to(i, j) = to(i, j) + a(i, k) * b(k, j)
        end do
      end do
    end do
  end subroutine matrix

  ! As in NPB's BT: values that are kept in registers, and a call whose arguments take several lines.
  subroutine lines(rhs, lhs, u, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: rhs(5, 0:n, 0:n, 0:n), lhs(5, 5, 3, 0:n)
    real(8), intent(in) :: u(0:n, 0:n, 0:n)
    integer :: i, j, k
    external :: solve_it
    do k = 1, n - 2  ! loop 1
      do i = 1, n - 2  ! loop 2
        do j = 0, n  ! loop 3 or beside
          lhs(1, 1, 1, j) = (u(i, j, k) * 0.25d0 - 0.5d0) * 1.4d0 + rhs(1, i, j, k) * 0.7d0
        end do
        call solve_it(lhs(1, 1, 2, 0), &
                      lhs(1, 1, 3, 0), &
                      rhs(1, i, 0, k))
        do j = 1, n - 1  ! loop 3
          call solve_it(lhs(1, 1, 1, j), &
                        rhs(1, i, j - 1, k), &
                        rhs(1, i, j, k))
        end do
      end do
    end do
  end subroutine lines

  ! As in NPB's FT: the step is a variable, and values of the function are loaded in the loop.
  subroutine blocks(x, y, n, m, block)
    integer, intent(in) :: n, m, block
    complex(8), intent(inout) :: x(n + 1, m, m), y((n + 1) * m)
    integer :: i, j, k, first, last, width
    external :: swap_it
    width = block + 1
    do k = 1, m  ! loop 1
      do first = 1, m, block  ! loop 2
        last = first + block - 1
        if (last > m) last = m
        do j = first, last  ! loop 3
          do i = 1, n  ! loop 4 or beside
            y(j - first + 1 + width * (i - 1)) = x(i, j, k)
          end do
        end do
        call swap_it(1, n, block, x, y)
        do j = first, last  ! loop 3
          do i = 1, n  ! loop 4 or beside
            x(i, j, k) = y(j - first + 1 + width * (i - 1))
          end do
        end do
      end do
    end do
  end subroutine blocks

  subroutine parallel(to, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: to(n)
    integer :: i, step
    external :: use_it
    do step = 1, n  ! loop 1
      call use_it(step)
      !$omp parallel do
      do i = 1, n  ! loop 1 or beside
        to(i) = to(i) + step
      end do
      !$omp end parallel do
    end do
  end subroutine parallel
end module known
