! Compiled with -finstrument-functions.   Usage: procedures
module parts
  implicit none
  real(8) :: total = 0
contains
  subroutine sweep(n)
    integer, intent(in) :: n
    integer :: i
    do i = 1, n
       total = total + relax(i)
    end do
  end subroutine sweep
  real(8) function relax(i)
    integer, intent(in) :: i
    relax = 1.0d0 / i
  end function relax
end module parts

program procedures
  use parts
  implicit none
  integer :: step
  do step = 1, 30
     call sweep(5)
  end do
  print '(f12.6)', total
end program procedures
