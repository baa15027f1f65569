# Sourced: for_each_example FUNCTION calls FUNCTION NAME COMMAND... for each line of examples.txt that this machine can run.
for_each_example() {
  local function=$1 name needs program package
  while read -r name needs program; do
    [[ -n "$name" && "$name" != \#* ]] || continue
    if [[ "$needs" == gpu* ]] && ! nvidia-smi -L >/dev/null 2>&1; then
      echo "$name: skipped, no GPU"
      continue
    fi
    package=${needs#gpu}
    package=${package#+}
    if [[ "$needs" == gpu+* ]] && ! python3 -c "import $package" >/dev/null 2>&1; then
      echo "$name: skipped, no Python package $package"
      continue
    fi
    if [[ "$program" == *.py ]]; then
      "$function" "$name" python3 "$EXAMPLES/$program"
    elif [[ -x "$EXAMPLES/$program" ]]; then
      "$function" "$name" "$EXAMPLES/$program"
    else
      echo "$name: skipped, not built on this machine"
    fi
  done <"$EXAMPLES/examples.txt"
}
