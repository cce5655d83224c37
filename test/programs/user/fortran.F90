! Events that a Fortran program reports itself.   Usage: fortran [steps]
program fortran
  use refrain
  implicit none
  integer :: i, steps
  real(8) :: x
  character(len=16) :: text, name
  steps = 50
  if (command_argument_count() > 0) then
     call get_command_argument(1, text)
     read (text, *) steps
  end if
  x = 0
  do i = 1, steps
     call refrain_phase_begin('timestep', __FILE__, __LINE__)
     name = 'solve'
     call refrain_region_begin(name, __FILE__, __LINE__)
     call refrain_parameter_int('step', i)
     call refrain_parameter_string('method', 'jacobi  ')
     x = x + 1.0d0 / i
     name = 'something else'
     call refrain_region_begin(name)
     call refrain_region_end('something else')
     call refrain_region_end('solve')
     call refrain_phase_end('timestep')
  end do
  call refrain_pause()
  call refrain_region_begin('unseen')
  call refrain_region_end('unseen')
  call refrain_resume()
  print '(a,i0,f12.6)', 'steps=', steps, x
end program fortran
