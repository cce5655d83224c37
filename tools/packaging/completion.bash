# Completion of bash for refrain. Lists are made by tools/packaging/completion.py from what the command parses.

# The commands; or the options of one.
_refrain_words() {
  case $1 in
@WORDS@
  esac
}

# The values of an option, or (for "") of the first argument of a command. "-": a number or the like, that
# cannot be completed. Fails for what may be a file.
_refrain_values() {
  case "$1 $2" in
@VALUES@
    *) return 1 ;;
  esac
}

# Whether an option has a value that comes after it, as a word of its own.
_refrain_has_value() {
  case "$1 $2" in
@WITH_VALUE@
    *) return 1 ;;
  esac
}

# What is not answered here is a file: bash completes it.
_refrain() {
  local current=$2 before=$3 command=${COMP_WORDS[1]} at words joined=no given=no skip=no
  # To bash, --mpi=no is three words.
  if [ "${COMP_WORDS[COMP_CWORD]}" = "=" ]; then
    joined=yes current=
  elif [ "$before" = "=" ] && [ "$COMP_CWORD" -gt 2 ]; then
    joined=yes before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_refrain_words "")" -- "$current")
    compopt +o default
    return
  fi
  for ((at = 2; at < COMP_CWORD; ++at)); do
    if [ "${COMP_WORDS[at]}" = "--" ]; then
      # The program and its arguments, as if they were typed alone.
      if declare -F _command_offset >/dev/null; then
        _command_offset $((at + 1))
      elif [ "$COMP_CWORD" -eq $((at + 1)) ]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
      fi
      return
    fi
    if [ $skip = yes ]; then
      skip=no
    elif [[ ${COMP_WORDS[at]} == -* ]]; then
      _refrain_has_value "$command" "${COMP_WORDS[at]}" && skip=yes
    elif [ "${COMP_WORDS[at]}" = "=" ]; then
      skip=yes
    else
      given=yes
    fi
  done
  words=
  if [ $joined = yes ] || _refrain_has_value "$command" "$before"; then
    words=$(_refrain_values "$command" "$before") || return
  elif [[ $current == -* ]]; then
    words=$(_refrain_words "$command")
  elif [ $given = no ]; then
    words=$(_refrain_values "$command" "") || return
  else
    return
  fi
  compopt +o default
  [ "$words" = "-" ] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -o default -F _refrain refrain
