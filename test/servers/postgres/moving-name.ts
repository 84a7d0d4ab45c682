// A name of the primary that can move, like the `-rw` service of CloudNativePG: a TCP forwarder at one address.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type MovingName = {
  readonly port: number
  /** New connections reach this port of 127.0.0.1; the open ones are reset, unless `keep` leaves them where they are. */
  move(target: number, options?: { keep: boolean }): void
  /** Resets the open connections; what they had in transit is lost. */
  reset(): void
  /** Transfers nothing more, without a reset; new connections are accepted and get no answer. Ends with a move. */
  freeze(): void
  close(): Promise<void>
}

export async function movingName(first: number): Promise<MovingName> {
  let [target, frozen] = [first, false]
  const open = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1')
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        open.delete(socket)
        other.destroy()
      })
    }
    if (!frozen) near.pipe(far).pipe(near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const reset = (): void => {
    for (const socket of open) socket.resetAndDestroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    move: (to, { keep } = { keep: false }) => {
      target = to
      frozen = false
      if (!keep) reset()
    },
    reset,
    freeze: () => {
      frozen = true
      for (const socket of open) socket.unpipe().pause()
    },
    close: async () => {
      reset()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
