// matte door answers for api.remove.bg on this machine, for programs whose host is fixed.
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { type Command, InvalidArgumentError } from 'commander'
import { CliError, usageError } from '../../cli-error.ts'
import { exitCodes } from '../../exit-codes.ts'
import { formatDuration } from '../../print/format.ts'
import { createOutput, type Output } from '../../print/output.ts'
import { toPlain } from '../../print/table.ts'
import { isLoopbackAddress } from '../../profile/loopback.ts'
import { interruptible, withOutput } from '../../session.ts'
import { findServiceUrl, missingUrl, removebgHost, requireDoor } from '../service-url.ts'
import { type DoorFiles, writeDoorFiles } from './child-environment.ts'
import type { Address, Forwarded, Listener } from './listener.ts'

type DoorCommandOptions = {
  readonly url?: string
  readonly listen: Address | true
  readonly json?: boolean
  readonly quiet?: boolean
}

const help = `
The command, and no other program, gets HTTPS_PROXY with the address of the door, and NODE_EXTRA_CA_CERTS,
SSL_CERT_FILE, REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE and PHP_INI_SCAN_DIR with a certificate that is made for this run.
Calls to ${removebgHost} go to Matte; calls to other hosts pass unread. The exit code is that of the command.

The program sends the key that it has, so give it a key of Matte where it had one of remove.bg.

  matte door --url https://matte.example.com --listen -- npm start
  sudo matte door --url https://matte.example.com --listen 127.0.0.1:443     with a line in /etc/hosts

docs/leaving-remove-bg.md says which clients this works for.`

/** Without a command, variables are copied by hand, so the port should be the same next time. */
const usualPort = 8_443

export function addDoorCommand(program: Command): void {
  withOutput(program.command('door').description(`answer for ${removebgHost} on this machine, for one program`))
    .argument('[command...]', 'program to start, with its arguments, after --')
    .option(
      '--listen [address]',
      'loopback address, port, or both (default: any free port; 8443 without a command)',
      readAddress,
    )
    .option('--url <url>', 'the Matte that takes the calls (default: MATTE_BASE_URL, or the profile)')
    .addHelpText('after', help)
    .action(runDoor)
}

/** `8443`, `127.0.0.1`, `127.0.0.1:443` or `[::1]:443`. @throws InvalidArgumentError */
export function readAddress(text: string): Address {
  const match = /^(?:\[([^\]]+)\]|([\d.]+\.[\d.]+|localhost))?:?(\d{1,5})?$/.exec(text)
  const [, six, four, port = '0'] = match ?? []
  const host = six ?? (four === undefined || four === 'localhost' ? '127.0.0.1' : four)
  const isAddress = match !== null && text !== '' && isLoopbackAddress(host) && Number(port) <= 65_535
  if (isAddress) return { host, port: Number(port) }
  throw new InvalidArgumentError(
    'Give an address of this machine, such as 127.0.0.1:8443, and put -- before a command.',
  )
}

async function runDoor(command: string[], { url, listen, ...output }: DoorCommandOptions): Promise<void> {
  const out = createOutput(output)
  const serviceUrl = await findServiceUrl(url)
  if (serviceUrl === undefined) throw missingUrl()
  await requireDoor(serviceUrl)
  const wanted = listen === undefined || listen === true ? { host: '127.0.0.1', port: 0 } : listen
  const address = command.length === 0 && wanted.port === 0 ? { ...wanted, port: usualPort } : wanted
  // The library that makes certificates is loaded by this command alone.
  const [{ makeCertificate }, { startListener }] = await Promise.all([
    import('./certificate.ts'),
    import('./listener.ts'),
  ])
  const certificate = await makeCertificate(removebgHost)
  const listener = await startListener({
    address,
    serviceUrl,
    certificate,
    upstreamProxy: findUpstreamProxy(process.env),
    onForwarded: (call) => report(call, out),
  }).catch((error: NodeJS.ErrnoException) => {
    throw cannotListen(address, error)
  })
  const proxyUrl = `http://${address.host.includes(':') ? `[${address.host}]` : address.host}:${listener.port}`
  const files = writeDoorFiles({ authority: certificate.authority, proxyUrl, env: process.env })
  // The last resort if the process is ended in the middle.
  process.once('exit', files.remove)
  try {
    const place = { proxyUrl, serviceUrl, port: listener.port }
    if (command.length === 0) await stayOpen(files, place, out)
    else process.exitCode = await runCommand(command, files)
  } finally {
    await close(listener, files)
  }
}

async function close(listener: Listener, files: DoorFiles): Promise<void> {
  await listener.close()
  files.remove()
}

/** @throws CliError for a proxy that CONNECT cannot be sent to in clear text */
export function findUpstreamProxy(env: Readonly<Record<string, string | undefined>>): URL | undefined {
  const text = env.HTTPS_PROXY || env.https_proxy
  if (!text) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'http:') return url
  throw usageError(
    'HTTPS_PROXY is no http URL, so other hosts cannot be reached.',
    'Change it, or unset it for this run.',
  )
}

function cannotListen({ host, port }: Address, { code, message }: NodeJS.ErrnoException): CliError {
  const place = `${host}:${port}`
  if (code === 'EACCES') return usageError(`Only root may listen on ${place}.`, 'Use sudo, or a port from 1024.')
  if (code === 'EADDRINUSE')
    return usageError(`Another program listens on ${place}.`, 'Choose another port: --listen PORT')
  return usageError(`The door cannot listen on ${place}: ${code ?? message}.`, 'Choose another address.')
}

function report({ method, path, status, durationMs }: Forwarded, out: Output): void {
  const result = status === undefined ? 'ended early' : String(status)
  out.note(`${removebgHost}: ${toPlain(`${method} ${path}`)} ${result} in ${formatDuration(durationMs)}`)
}

type Opened = { readonly proxyUrl: string; readonly serviceUrl: string; readonly port: number }

async function stayOpen({ variables }: DoorFiles, { proxyUrl, serviceUrl, port }: Opened, out: Output): Promise<void> {
  if (out.json) out.record({ listening: proxyUrl, url: serviceUrl, variables })
  else for (const [name, value] of Object.entries(variables)) out.line(`export ${name}='${value}'`)
  out.note(`\n${removebgHost} is ${serviceUrl} for programs with these variables, until Ctrl-C.`)
  if (port === 443) {
    out.note(`For programs that use no proxy, add "127.0.0.1 ${removebgHost}" to /etc/hosts, and remove it afterwards.`)
  }
  await interruptible(
    (signal) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
  )
}

/** Ctrl-C reaches the command by itself, because both belong to the terminal; other signals are passed on. */
async function runCommand([program = '', ...args]: readonly string[], { variables }: DoorFiles): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, ...variables } })
  const ignore = (): void => undefined
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal)
  process.on('SIGINT', ignore).on('SIGTERM', pass).on('SIGHUP', pass)
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', (error: NodeJS.ErrnoException) => reject(cannotStart(program, error)))
      child.once('exit', (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])))
    })
  } finally {
    process.off('SIGINT', ignore).off('SIGTERM', pass).off('SIGHUP', pass)
  }
}

const cannotStart = (program: string, { code, message }: NodeJS.ErrnoException): CliError =>
  new CliError(
    exitCodes.usage,
    code === 'ENOENT' ? `There is no program ${program}.` : `${program} cannot be started: ${code ?? message}.`,
    'Give the program and its arguments after --',
  )
