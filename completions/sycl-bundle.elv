
set edit:completion:arg-completer[sycl-bundle] = { |@words|
    var index = (count $words)
    set index = (- $index 1)

    put (env _CLAP_IFS="\n" _CLAP_COMPLETE_INDEX=(to-string $index) SYCL_BUNDLE_COMPLETE="elvish" sycl-bundle -- $@words) | to-lines
}

