// Detection of dead connections. A gRPC server disconnects a client that pings too often (`too_many_pings`), so client
// period and server flags belong together.
import type { ClientOptions } from '@grpc/grpc-js'

/** With the timeout, a request on a dead connection ends after 15 s, half of the default inference timeout. */
const pingEveryMs = 10_000
const pingTimeoutMs = 5_000

export const agreedKeepalive: ClientOptions = {
  'grpc.keepalive_time_ms': pingEveryMs,
  'grpc.keepalive_timeout_ms': pingTimeoutMs,
  // Idle connections are checked by probes.
  'grpc.keepalive_permit_without_calls': 0,
}

/** For other servers: Triton's default allows a ping every five minutes. */
export const cautiousKeepalive: ClientOptions = {
  'grpc.keepalive_time_ms': 310_000,
  'grpc.keepalive_timeout_ms': 20_000,
  'grpc.keepalive_permit_without_calls': 0,
}

/**
 * `tritonserver` flags for `agreedKeepalive`. The allowed interval is half the client's, because delayed pings arrive
 * in bursts. The server pings too, to close streams of a vanished controller.
 */
export const keepaliveFlags: readonly string[] = [
  '--grpc-keepalive-time=30000',
  '--grpc-keepalive-timeout=10000',
  '--grpc-keepalive-permit-without-calls=true',
  '--grpc-http2-max-pings-without-data=0',
  `--grpc-http2-min-recv-ping-interval-without-data=${pingEveryMs / 2}`,
]
