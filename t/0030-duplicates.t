#!/bin/bash
# 0030-duplicates.t - no helper exists twice: no shell function, no file
. "$(dirname "$0")/lib/tree.sh"

# shell_files TOP: those files of contrib/ and t/ that a shell reads.
shell_files()
{
	(
		cd "$1" || exit
		find contrib t -type f | sort | while read -r f; do
			case $f in
			*.sh) echo "$f" ;;
			*) head -n 1 "$f" | grep -qaE '^#!.*/(ba)?sh\b' && echo "$f" ;;
			esac
		done
	)
}

# functions TOP: "NAME FILE" for each function a shell file defines.  Every
# script may have a main() of its own.
functions()
{
	local f

	shell_files "$1" | while read -r f; do
		sed -nE 's/^[ \t]*(function[ \t]+)?([A-Za-z_][A-Za-z0-9_-]*)[ \t]*\(\).*/\2/p' \
			"$1/$f" | grep -vx main | sort -u | sed "s,\$, $f,"
	done
}

# twice TOP: each function that more than one file defines.
twice()
{
	functions "$1" | sort | awk '
		{ files[$1] = files[$1] " " $2; n[$1]++ }
		END { for (f in n) if (n[f] > 1) print f "() is in" files[f] }'
}

# copies TOP: files with the same content, other than empty ones.
copies()
{
	(
		cd "$1" || exit
		tree_files . | while read -r f; do
			[ ! -s "$f" ] || sha256sum -- "$f"
		done | sort | uniq -w 64 --all-repeated=separate
	)
}

mkdir -p "$tmp/bad/contrib/lib" "$tmp/bad/t/lib"
: >"$tmp/bad/.gitignore"
printf '#!/bin/sh\nmain()\n{\n\thelp\n}\n' >"$tmp/bad/contrib/a"
printf 'main()\n{\n\t:\n}\n' >"$tmp/bad/t/lib/b.sh"
holds 'two scripts may have a main()' twice "$tmp/bad"
holds 'two files may differ' copies "$tmp/bad"
printf 'help()\n{\n\t:\n}\n' | tee -a "$tmp/bad/contrib/a" >>"$tmp/bad/t/lib/b.sh"
catches 'a function in two scripts' twice "$tmp/bad"
cp "$tmp/bad/contrib/a" "$tmp/bad/contrib/lib/c"
catches 'a file that is there twice' copies "$tmp/bad"

holds 'no shell function is defined in two files' twice "$srcdir"
holds 'no file is there twice' copies "$srcdir"

done_testing
