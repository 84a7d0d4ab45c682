import { readFileSync } from 'node:fs'
import type { BusAccess } from './bus/bus.ts'
import { checkNatsUrls } from './bus/nats-urls.ts'
import { ConfigError, type Infer, optionalText, parsed, type Schema } from './runtime/env.ts'

export const busSettings = {
  natsUrl: parsed(
    'NATS_URL',
    { description: 'nats:// or tls:// URLs separated by commas, such as nats://user:password@host:4222', secret: true },
    checkNatsUrls,
  ),
  natsStreamPrefix: parsed(
    'NATS_STREAM_PREFIX',
    { description: 'prefix of stream names; must differ between installations on one NATS server', default: 'matte' },
    parseStreamPrefix,
  ),
  natsReplicas: parsed(
    'NATS_REPLICAS',
    { description: 'copies of each stream: 1, or 3 or 5 in a cluster of at least as many servers', default: 1 },
    parseReplicas,
  ),
  natsCredsFile: optionalText('NATS_CREDS_FILE', {
    description: 'credentials file (.creds) of a NATS user, read again at each connection',
  }),
  natsCertFile: optionalText('NATS_CERT_FILE', {
    description: 'PEM file of the client certificate for NATS, read again at each connection; needs tls:// URLs',
  }),
  natsKeyFile: optionalText('NATS_KEY_FILE', { description: 'PEM file of the key of NATS_CERT_FILE' }),
} as const satisfies Schema

/** @throws ConfigError if a named file is missing or useless, because NATS itself may be absent at the start */
export function busOf(settings: Infer<typeof busSettings>): BusAccess {
  const { natsUrl: url, natsStreamPrefix: prefix, natsReplicas: replicas } = settings
  const { natsCredsFile: credsFile, natsCertFile: certFile, natsKeyFile: keyFile } = settings
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new ConfigError('NATS_CERT_FILE and NATS_KEY_FILE are set together or not at all')
  }
  if (certFile !== undefined && keyFile !== undefined) {
    if (!url.startsWith('tls://')) throw new ConfigError('NATS_CERT_FILE is set: NATS_URL must have tls:// URLs')
    requireFile('NATS_CERT_FILE', certFile, /-BEGIN CERTIFICATE-/)
    requireFile('NATS_KEY_FILE', keyFile, /-BEGIN [A-Z ]*PRIVATE KEY-/)
  }
  if (credsFile !== undefined) {
    requireFile('NATS_CREDS_FILE', credsFile, /-BEGIN NATS USER JWT-[\s\S]*-BEGIN USER NKEY SEED-/)
  }
  return {
    ...{ url, prefix, replicas },
    ...(credsFile !== undefined && { credsFile }),
    ...(certFile !== undefined && keyFile !== undefined && { clientCertificate: { certFile, keyFile } }),
  }
}

function requireFile(variable: string, file: string, contents: RegExp): void {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`${variable} names ${file}, which cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
  if (!contents.test(text)) throw new ConfigError(`${variable} names ${file}, which has other contents`)
}

function parseReplicas(value: string): number {
  if (!/^[135]$/.test(value)) throw new Error('must be 1, 3 or 5')
  return Number(value)
}

function parseStreamPrefix(value: string): string {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(value)) throw new Error('must be 1 to 64 of A-Z a-z 0-9 _ -')
  return value
}
