#!/bin/sh
#BERTH --image oci:/srv/images/busybox --name words
#BERTH --cpu 100m --memory 32Mi --time 5m
#BERTH --tasks 2 --env GREETING='good morning'
#
# A shell script that says itself what it needs: `berth submit examples/script.sh -- one two`.
# Its text is what runs, so the node needs no copy of it.

echo "$GREETING from task $BERTH_INDEX of $BERTH_COUNT"
for word in "$@"; do
    echo "  $word"
done
