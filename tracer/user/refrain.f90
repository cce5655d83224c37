! refrain.f90: the module `refrain` for Fortran programs: what refrain.h is for C.
!
! Compile it with the program: it needs nothing else, at link time neither. The library is
! looked for with dlsym, which every program has that is linked dynamically (libc; of glibc
! before 2.34 link with -ldl); a statically linked one finds none. Without the library a call is
! a few instructions. So this works with any compiler that has ISO_C_BINDING (Fortran 2003);
! weak symbols, as in C, would need a directive that gfortran has from version 14 on only.
!
!     use refrain
!     call refrain_region_begin('solve', __FILE__, __LINE__)   ! file and line if you like; they
!     call refrain_region_end('solve')                         ! want the preprocessor (.F90)
!     call refrain_phase_begin('timestep');  call refrain_phase_end('timestep')
!     call refrain_parameter_int('level', level)
!     call refrain_parameter_string('solver', 'cg')
!     call refrain_pause();  call refrain_resume()
!
! What they mean: see refrain.h. Blanks at the end of names do not count.
module refrain
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_f_procpointer, &
       c_funptr, c_int, c_long, c_null_char, c_null_ptr, c_ptr, c_size_t, c_sizeof
  implicit none
  private
  public :: refrain_region_begin, refrain_region_end, refrain_phase_begin, refrain_phase_end
  public :: refrain_parameter_int, refrain_parameter_string, refrain_pause, refrain_resume

  interface refrain_parameter_int
     module procedure parameter_short, parameter_long
  end interface refrain_parameter_int

  ! struct refrain_api
  type, bind(c) :: api_type
     integer(c_size_t) :: size
     type(c_funptr) :: by_place(6)
     type(c_funptr) :: pause, resume
     type(c_funptr) :: region_begin, region_end, phase_begin, phase_end
     type(c_funptr) :: parameter_int, parameter_string
  end type api_type

  abstract interface
     subroutine begin_call(name, length, file, file_length, line) bind(c)
       import :: c_char, c_int, c_size_t
       character(kind=c_char), intent(in) :: name(*), file(*)
       integer(c_size_t), value :: length, file_length
       integer(c_int), value :: line
     end subroutine begin_call
     subroutine end_call(name, length) bind(c)
       import :: c_char, c_size_t
       character(kind=c_char), intent(in) :: name(*)
       integer(c_size_t), value :: length
     end subroutine end_call
     subroutine int_call(name, length, value) bind(c)
       import :: c_char, c_long, c_size_t
       character(kind=c_char), intent(in) :: name(*)
       integer(c_size_t), value :: length
       integer(c_long), value :: value
     end subroutine int_call
     subroutine string_call(name, length, value, value_length) bind(c)
       import :: c_char, c_size_t
       character(kind=c_char), intent(in) :: name(*), value(*)
       integer(c_size_t), value :: length, value_length
     end subroutine string_call
     subroutine plain_call() bind(c)
     end subroutine plain_call
     function get_api_call(version) bind(c) result(api)
       import :: c_int, c_ptr
       integer(c_int), value :: version
       type(c_ptr) :: api
     end function get_api_call
  end interface

  interface
     function dlsym(handle, name) bind(c, name='dlsym') result(address)
       import :: c_char, c_funptr, c_ptr
       type(c_ptr), value :: handle
       character(kind=c_char), intent(in) :: name(*)
       type(c_funptr) :: address
     end function dlsym
     function dlerror() bind(c, name='dlerror') result(text)
       import :: c_ptr
       type(c_ptr) :: text
     end function dlerror
  end interface

  ! 0: not looked for yet; 1: not there; 2: there, and the pointers are set.
  integer, save, volatile :: state = 0
  procedure(begin_call), pointer, save :: region_begin_ => null(), phase_begin_ => null()
  procedure(end_call), pointer, save :: region_end_ => null(), phase_end_ => null()
  procedure(int_call), pointer, save :: parameter_int_ => null()
  procedure(string_call), pointer, save :: parameter_string_ => null()
  procedure(plain_call), pointer, save :: pause_ => null(), resume_ => null()

contains

  ! Threads that come here at the same time set the same.
  subroutine look()
    procedure(get_api_call), pointer :: get_api
    type(api_type), pointer :: api
    type(c_funptr) :: address
    type(c_ptr) :: table
    address = dlsym(c_null_ptr, 'refrain_get_api'//c_null_char)
    if (.not. c_associated(address)) then
       table = dlerror()
       state = 1
       return
    end if
    call c_f_procpointer(address, get_api)
    table = get_api(1_c_int)
    if (.not. c_associated(table)) then
       state = 1
       return
    end if
    call c_f_pointer(table, api)
    if (api%size < c_sizeof(api)) then  ! older than this file
       state = 1
       return
    end if
    call c_f_procpointer(api%region_begin, region_begin_)
    call c_f_procpointer(api%region_end, region_end_)
    call c_f_procpointer(api%phase_begin, phase_begin_)
    call c_f_procpointer(api%phase_end, phase_end_)
    call c_f_procpointer(api%parameter_int, parameter_int_)
    call c_f_procpointer(api%parameter_string, parameter_string_)
    call c_f_procpointer(api%pause, pause_)
    call c_f_procpointer(api%resume, resume_)
    state = 2
  end subroutine look

  logical function here()
    if (state == 0) call look()
    here = state == 2
  end function here

  subroutine begin_of(begin, name, file, line)
    procedure(begin_call), pointer, intent(in) :: begin
    character(len=*), intent(in) :: name
    character(len=*), intent(in), optional :: file
    integer, intent(in), optional :: line
    integer(c_int) :: number
    number = 0
    if (present(line)) number = int(line, c_int)
    if (present(file)) then
       call begin(name, len_trim(name, c_size_t), file, len_trim(file, c_size_t), number)
    else
       call begin(name, len_trim(name, c_size_t), '', 0_c_size_t, number)
    end if
  end subroutine begin_of

  subroutine refrain_region_begin(name, file, line)
    character(len=*), intent(in) :: name
    character(len=*), intent(in), optional :: file
    integer, intent(in), optional :: line
    if (here()) call begin_of(region_begin_, name, file, line)
  end subroutine refrain_region_begin

  subroutine refrain_region_end(name)
    character(len=*), intent(in) :: name
    if (here()) call region_end_(name, len_trim(name, c_size_t))
  end subroutine refrain_region_end

  subroutine refrain_phase_begin(name, file, line)
    character(len=*), intent(in) :: name
    character(len=*), intent(in), optional :: file
    integer, intent(in), optional :: line
    if (here()) call begin_of(phase_begin_, name, file, line)
  end subroutine refrain_phase_begin

  subroutine refrain_phase_end(name)
    character(len=*), intent(in) :: name
    if (here()) call phase_end_(name, len_trim(name, c_size_t))
  end subroutine refrain_phase_end

  subroutine parameter_short(name, value)
    character(len=*), intent(in) :: name
    integer(c_int), intent(in) :: value
    if (here()) call parameter_int_(name, len_trim(name, c_size_t), int(value, c_long))
  end subroutine parameter_short

  subroutine parameter_long(name, value)
    character(len=*), intent(in) :: name
    integer(c_long), intent(in) :: value
    if (here()) call parameter_int_(name, len_trim(name, c_size_t), value)
  end subroutine parameter_long

  subroutine refrain_parameter_string(name, value)
    character(len=*), intent(in) :: name, value
    if (here()) call parameter_string_(name, len_trim(name, c_size_t), value, &
         len_trim(value, c_size_t))
  end subroutine refrain_parameter_string

  subroutine refrain_pause()
    if (here()) call pause_()
  end subroutine refrain_pause

  subroutine refrain_resume()
    if (here()) call resume_()
  end subroutine refrain_resume

end module refrain
