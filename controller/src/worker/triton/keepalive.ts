// How soon a connection that died without a word is noticed. A gRPC server cuts a client off after two pings more than
// it allows (`too_many_pings`), so the client's period and the server's flags are one setting.
import type { ClientOptions } from '@grpc/grpc-js'

/**
 * Without a sign of life for this long the client asks for one. With the time-out beside it a request on a dead
 * connection ends after 15 s, half of the default time-out of an inference, and costs its task no attempt.
 */
const pingEveryMs = 10_000
const pingTimeoutMs = 5_000

/** For servers that are started with `keepaliveFlags`. */
export const agreedKeepalive: ClientOptions = {
  'grpc.keepalive_time_ms': pingEveryMs,
  'grpc.keepalive_timeout_ms': pingTimeoutMs,
  // A connection idle is asked by the health probe, which says more than a ping does.
  'grpc.keepalive_permit_without_calls': 0,
}

/** Triton's own defaults allow a ping every five minutes; for servers that somebody else started. */
export const cautiousKeepalive: ClientOptions = {
  'grpc.keepalive_time_ms': 310_000,
  'grpc.keepalive_timeout_ms': 20_000,
  'grpc.keepalive_permit_without_calls': 0,
}

/**
 * Flags of `tritonserver` that allow for `agreedKeepalive`. The allowed interval is half of ours, since pings that were
 * held up on their way arrive in bunches. The server asks its clients too: a controller that vanished with its node
 * would otherwise keep streams open for two hours, and hold up the pod's end for the whole exit time-out.
 */
export const keepaliveFlags: readonly string[] = [
  '--grpc-keepalive-time=30000',
  '--grpc-keepalive-timeout=10000',
  '--grpc-keepalive-permit-without-calls=true',
  '--grpc-http2-max-pings-without-data=0',
  `--grpc-http2-min-recv-ping-interval-without-data=${pingEveryMs / 2}`,
]
