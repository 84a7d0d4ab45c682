// One request at a time on each connection. Node parses all requests of a packet at once. A client that does not wait
// for responses would start 1,500 with 64 KiB, and no limit of connections counts them.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests that may wait on a connection for the response before them. With one more the connection closes. */
const waitingMax = 16

type Exchange = readonly [IncomingMessage, ServerResponse]
type Handle = (...exchange: Exchange) => void

/** Puts itself before the listeners of `request`, so it must be called after they are added. */
export function serveOneAtATime(server: Server): void {
  const handlers = server.listeners('request') as Handle[]
  const waiting = new WeakMap<Socket, Exchange[]>()

  function start(socket: Socket, [request, response]: Exchange): void {
    response.once('close', () => {
      const next = waiting.get(socket)?.shift()
      if (next === undefined) waiting.delete(socket)
      else if (socket.writable) start(socket, next)
    })
    for (const handle of handlers) handle(request, response)
  }

  server.removeAllListeners('request')
  server.on('request', (request, response) => {
    const { socket } = request
    const queue = waiting.get(socket)
    if (queue === undefined) {
      waiting.set(socket, [])
      start(socket, [request, response])
    } else if (queue.length < waitingMax) queue.push([request, response])
    else socket.destroy()
  })
}
