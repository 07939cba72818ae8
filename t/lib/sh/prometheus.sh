# shellcheck shell=bash disable=SC2154 # cluster.sh
# prometheus.sh - Prometheus in the current cluster, beside cluster.sh
#
# It listens on the loopback of the cluster, which has a network of its own, and
# reads RunDir/metrics from a small web server once a second.
#
#   prometheus_up	start both and wait until Prometheus has read the file
#   prometheus_down	end both
#   ask_prometheus QUERY	print the values, one in each line
#   wait_prometheus QUERY REGEX	wait until a value matches as a whole

prometheus_up()
{
	as root sh -c 'mkdir -p /run/prometheus && cat >/run/prometheus/conf' <<-'END'
	global: { scrape_interval: 1s }
	scrape_configs:
	  - job_name: egs
	    static_configs: [ { targets: [ "127.0.0.1:9101" ] } ]
	END
	as root python3 -m http.server --bind 127.0.0.1 --directory /run/egs 9101 \
		>/dev/null 2>&1 </dev/null &
	as root prometheus --config.file=/run/prometheus/conf \
		--storage.tsdb.path=/run/prometheus/data \
		--web.listen-address=127.0.0.1:9109 \
		>"$notes/prometheus.log" 2>&1 </dev/null &
	wait_prometheus egs_daemon_up 1
}

prometheus_down()
{
	as root pkill -x prometheus
	as root pkill -f '^python3 -m http.server --bind 127.0.0.1 '
	wait_until 60 'Prometheus is gone' no_prometheus
}

no_prometheus()
{
	! as root pgrep -x prometheus >/dev/null &&
	! as root pgrep -f '^python3 -m http.server ' >/dev/null
}

ask_prometheus()
{
	as root promtool query instant http://127.0.0.1:9109 "$1" |
		sed -n 's/.* => \([^ ]*\) @.*/\1/p'
}

prometheus_has()
{
	ask_prometheus "$1" 2>/dev/null | grep -qxE "$2"
}

wait_prometheus()
{
	wait_until 90 "$1 is $2" prometheus_has "$1" "$2" || {
		ask_prometheus "$1"
		tail -n 5 "$notes/prometheus.log"
		return 1
	}
}
