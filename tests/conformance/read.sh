# SPDX-License-Identifier: GPL-2.0-or-later
# What suites print, as verdicts; needs say.sh.

read_check() { # SUITE/FS TEST...: what xfstests' check prints for these tests
    local where=$1 line name rest last clean='^([0-9]+s \.\.\. +)?[0-9]+s$'
    local -A told=()
    for name in "${@:2}"; do
        told[$name]=absent
    done
    while IFS= read -r line; do
        [ -n "$line" ] && last=$line
        read -r name rest <<<"$line"
        # The summary has those, too, that a later look at the drive failed.
        [ "$name" = Failures: ] && for name in $rest; do
            [[ ${told[$name]} = @(fail|late) ]] || say fail "$where/$name" "in the suite's summary"
            [ "${told[$name]}" = late ] || told[$name]=fail
        done
        [ "${told[${name:-?}]}" = absent ] || continue
        if [[ $rest = '- unknown test'* ]]; then
            continue
        elif [ -e "${SCARP_LATE:-}/${where##*/}/$name" ]; then
            told[$name]=late
            say absent "$where/$name" "ended after $SCARP_LIMIT s"
        elif [[ $rest =~ $clean ]]; then
            told[$name]=pass
            say pass "$where/$name"
        elif [[ $rest = '[not run] '* ]]; then
            told[$name]=skip
            say skip "$where/$name" "${rest#'[not run] '}"
        else
            told[$name]=fail
            say fail "$where/$name" "$rest"
        fi
    done
    for name in "${@:2}"; do
        [ "${told[$name]}" = absent ] && say absent "$where/$name" "the suite ended: $last"
    done
}

read_tap() { # NAME STATUS: what one program prints in TAP, and its exit status
    local line planned failed last seen=0
    while IFS= read -r line; do
        [ -n "$line" ] && last=$line
        case $line in
        '1..0 '*) say skip "$1" "${line#*[sS][kK][iI][pP] }" && return ;;
        1..*) planned=${line#1..} ;;
        'not ok'*) failed=${failed:-$line} seen=$((seen + 1)) ;;
        ok*) seen=$((seen + 1)) ;;
        esac
    done
    if [ -n "$failed" ]; then
        say fail "$1" "$failed"
    elif [ "$2" != 0 ]; then
        say fail "$1" "status $2: $last"
    elif [ "$seen" = 0 ] || [ "$seen" != "$planned" ]; then
        say fail "$1" "$seen of ${planned:-?} results"
    else
        say pass "$1"
    fi
}
