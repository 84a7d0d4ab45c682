import { describe, expect, it } from 'vitest'
import { agreedKeepalive, cautiousKeepalive, keepaliveFlags } from './keepalive.ts'

const flag = (name: string): string | undefined =>
  keepaliveFlags.find((each) => each.startsWith(`--${name}=`))?.split('=')[1]

describe('keepalive', () => {
  it('lets the server allow pings twice as often as the client sends them', () => {
    const allowed = Number(flag('grpc-http2-min-recv-ping-interval-without-data'))
    expect(allowed * 2).toBeLessThanOrEqual(Number(agreedKeepalive['grpc.keepalive_time_ms']))
  })

  it('notices a dead connection within half of the default inference timeout', () => {
    const { 'grpc.keepalive_time_ms': time = 0, 'grpc.keepalive_timeout_ms': timeout = 0 } = agreedKeepalive
    expect(time + timeout).toBeLessThanOrEqual(15_000)
  })

  it('pings other servers no more often than they allow by default', () => {
    expect(cautiousKeepalive['grpc.keepalive_time_ms']).toBeGreaterThan(300_000)
  })
})
