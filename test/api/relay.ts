import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A TCP relay to a port of 127.0.0.1 that can disconnect, reconnect and hang, always at the same address. */
export type Relay = {
  readonly port: string
  /** Closes every connection and refuses new ones. */
  cut(): Promise<void>
  /** Drops further data of current connections without a reset; new ones work. */
  hang(): void
  mend(): Promise<void>
  /** Accepts connections and transfers nothing until it is closed. */
  freeze(): void
  close(): Promise<void>
}

export async function relay(target: number): Promise<Relay> {
  const open = new Set<Socket>()
  let frozen = false
  let server = await listen(0)
  const { port } = server.address() as AddressInfo

  function listen(at: number): Promise<Server> {
    const listening = createServer((near) => {
      const far = connect(target, '127.0.0.1')
      if (frozen) near.pause()
      for (const socket of [near, far]) {
        open.add(socket)
        socket.on('close', () => open.delete(socket))
        socket.on('error', () => undefined)
      }
      near.on('close', () => far.destroy())
      far.on('close', () => near.destroy())
      if (!frozen) near.pipe(far).pipe(near)
    })
    return new Promise((resolve, reject) => {
      listening.once('error', reject)
      listening.listen(at, '127.0.0.1', () => resolve(listening))
    })
  }

  const cut = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      for (const socket of open) socket.destroy()
    })
  const hang = (): void => {
    for (const socket of open) {
      socket.unpipe()
      socket.on('data', () => undefined)
    }
  }
  const mend = async (): Promise<void> => {
    server = await listen(port)
  }
  const freeze = (): void => {
    frozen = true
    for (const socket of open) socket.unpipe().pause()
  }
  return { port: String(port), cut, hang, freeze, mend, close: cut }
}
