import type { Socket, TcpNetConnectOpts } from 'node:net'

/** How a TCP connection is begun; what tests replace. */
export type Dial = (options: TcpNetConnectOpts) => Socket
