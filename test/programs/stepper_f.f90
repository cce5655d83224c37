! As stepper.cc, in Fortran: the time-step loop in the main program, its regions in procedures of
! a module in another file (stepper_module.f90), one of which has the solver's loop.
!
! Arguments: [steps = 60]
program stepper_f
  use field_module
  implicit none
  integer :: steps, step, problem
  character(len=32) :: text

  steps = 60
  if (command_argument_count() > 0) then
    call get_command_argument(1, text)
    read (text, *, iostat=problem) steps
    if (problem /= 0) stop 2
  end if
  call start(200)
  do step = 1, steps
    call advance()
    call solve(12)
  end do
  print '(a,i0,a,i0)', 'iterations=', steps, ' checksum=', account()
end program stepper_f
