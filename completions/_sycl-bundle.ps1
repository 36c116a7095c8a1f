
Register-ArgumentCompleter -Native -CommandName sycl-bundle -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $prev = $env:SYCL_BUNDLE_COMPLETE;
    $env:SYCL_BUNDLE_COMPLETE = "powershell";

    $args = $commandAst.Extent.Text
    $args = $args.Substring(0, [math]::Min($cursorPosition, $args.Length));
    if ($wordToComplete -eq "") {
        $args += " ''";
    }

    $results = Invoke-Expression @"
& sycl-bundle -- $args
"@;
    if ($null -eq $prev) {
        Remove-Item Env:\SYCL_BUNDLE_COMPLETE;
    } else {
        $env:SYCL_BUNDLE_COMPLETE = $prev;
    }
    $results | ForEach-Object {
        $split = $_.Split("`t");
        $cmd = $split[0];

        if ($split.Length -eq 2) {
            $help = $split[1];
        }
        else {
            $help = $split[0];
        }

        [System.Management.Automation.CompletionResult]::new($cmd, $cmd, 'ParameterValue', $help)
    }
};
        
