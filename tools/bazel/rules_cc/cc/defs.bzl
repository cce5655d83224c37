"""Forwards to Bazel's native rules: Debian's own rules_cc asks for a newer Bazel."""

cc_binary = native.cc_binary
cc_import = native.cc_import
cc_library = native.cc_library
cc_test = native.cc_test
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
objc_import = native.objc_import
objc_library = native.objc_library
