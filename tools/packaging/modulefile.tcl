#%Module1.0
# Refrain @VERSION@ in @PREFIX@, for Environment Modules and Lmod. Written by tools/install.

proc ModulesHelp { } {
  puts stderr "Refrain @VERSION@ traces OpenMP and MPI programs and leaves out what repeats."
  puts stderr "refrain run -o reduced -- ./app traces ./app; refrain help lists the commands."
}

module-whatis "Refrain @VERSION@: traces OpenMP and MPI programs and leaves out what repeats"
conflict refrain

set prefix {@PREFIX@}
prepend-path PATH $prefix/bin
prepend-path PKG_CONFIG_PATH $prefix/lib/pkgconfig
prepend-path PYTHONPATH $prefix/lib/python3/dist-packages
# Without it, man looks next to what is in PATH; set, it would have to name all other pages as well.
if {[info exists env(MANPATH)]} {
  prepend-path MANPATH $prefix/share/man
}
