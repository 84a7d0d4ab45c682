// A fake internet and its DNS.
import { connect } from 'node:net'
import type { Dial } from '@matte/dispatcher/egress/connect-by-proxy'
import type { Receiver } from './receiver.ts'

export const publicAddress = '93.184.215.14'

/** A small internet: connections to any address reach this receiver, which then appears to have that address. */
export function internetOf(receiver: Receiver): { dial: Dial; dialled: string[] } {
  const dialled: string[] = []
  const dial: Dial = (options) => {
    const socket = connect({ host: '127.0.0.1', port: receiver.port })
    const address = String(options.host)
    dialled.push(`${address}:${options.port}`)
    Object.defineProperty(socket, 'remoteAddress', { get: () => address })
    return socket
  }
  return { dial, dialled }
}

export const answering = (...answers: string[][]) => {
  const asked: string[] = []
  const resolve = async (host: string): Promise<string[]> => {
    asked.push(host)
    return answers[Math.min(asked.length, answers.length) - 1] ?? []
  }
  return { resolve, asked }
}
