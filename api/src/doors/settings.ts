import { ConfigError, flag, type Infer, json, parsed, type Schema } from '@matte/core/runtime/env'
import { parseNetworks } from '@matte/core/webhook/target/address'
import { isUuid } from '../uuid.ts'
import { type RembgModel, rembgModels } from './rembg/models.ts'
import { type RemovebgType, removebgTypes } from './removebg/types.ts'

export const doorSettings = {
  doorsRemovebg: flag('DOORS_REMOVEBG', {
    description:
      'serves POST /v1.0/removebg, GET /v1.0/account and POST /v1.0/improve for clients of remove.bg, with API keys of ' +
      'Matte; docs/doors.md',
    default: true,
  }),
  doorsRemovebgModels: json<RemovebgModelTable>(
    'DOORS_REMOVEBG_MODELS',
    {
      description:
        'model of Matte for each value of the parameter `type` of remove.bg, {"car":"matte-car"}; others use the ' +
        'platform default',
      default: {},
    },
    (value) => checkModels(value, { names: removebgTypes, of: 'types' }),
  ),
  doorsRemovebgUnknownForeground: flag('DOORS_REMOVEBG_UNKNOWN_FOREGROUND', {
    description:
      'POST /v1.0/removebg answers an image without a subject with 400 `unknown_foreground` and charges nothing; if ' +
      'false, it answers a charged empty result; docs/doors.md',
    default: true,
  }),
  doorsRembg: flag('DOORS_REMBG', {
    description:
      'serves /api/remove for clients of `rembg s`, without keys; needs DOORS_REMBG_NETWORKS and ' +
      'DOORS_REMBG_WORKSPACE; docs/doors.md',
    default: false,
  }),
  doorsRembgNetworks: parsed<readonly string[]>(
    'DOORS_REMBG_NETWORKS',
    {
      description: 'CIDRs of the clients that may use /api/remove, separated by commas or spaces',
      default: [],
    },
    parseClientNetworks,
  ),
  doorsRembgWorkspace: parsed<string | undefined>(
    'DOORS_REMBG_WORKSPACE',
    { description: 'id of the workspace that owns and pays the tasks of /api/remove', default: undefined },
    parseWorkspace,
  ),
  doorsRembgHosts: parsed<readonly string[]>(
    'DOORS_REMBG_HOSTS',
    {
      description:
        'host names, without port, by which clients call /api/remove, separated by commas or spaces; the host of ' +
        'PUBLIC_URL, localhost and addresses always count',
      default: [],
    },
    parseHosts,
  ),
  doorsRembgModels: json<RembgModelTable>(
    'DOORS_REMBG_MODELS',
    {
      description:
        'model of Matte for each model of rembg, {"birefnet-general":"matte-birefnet"}; others use the platform default',
      default: {},
    },
    (value) => checkModels(value, { names: rembgModels, of: 'models of rembg' }),
  ),
} as const satisfies Schema

type ModelTable<Name extends string> = Readonly<Partial<Record<Name, string>>>
export type RembgModelTable = ModelTable<RembgModel>
export type RemovebgModelTable = ModelTable<RemovebgType>

/** Shortest prefixes: everyone's address would make the door an open proxy to the workspace's credits. */
const prefixMin = { ipv4: 8, ipv6: 16 } as const

function parseClientNetworks(value: string): readonly string[] {
  const networks = parseNetworks(value)
  const wide = networks.find(isWide)
  if (wide !== undefined) {
    throw new Error(
      `must not hold ${wide}: name the networks of your clients, IPv4 ones as 10.0.0.0/8 with at least ` +
        `/${prefixMin.ipv4}, IPv6 ones with at least /${prefixMin.ipv6} unless they are in fc00::/7`,
    )
  }
  return networks
}

function isWide(network: string): boolean {
  const [address = '', length] = network.toLowerCase().split('/')
  if (!address.includes(':')) return Number(length) < prefixMin.ipv4
  if (/^f[cd][0-9a-f]{2}:/.test(address)) return Number(length) < 7 // unique local
  return Number(length) < prefixMin.ipv6 || address.startsWith('::ffff:')
}

function parseHosts(value: string): readonly string[] {
  const names = value.split(/[\s,]+/).filter((name) => name !== '')
  return names.map((name) => {
    const lower = name.toLowerCase()
    if (URL.parse(`http://${lower}`)?.hostname === lower) return lower
    throw new Error(`must hold host names without scheme and port, such as matte.example.com; ${name} is none`)
  })
}

function parseWorkspace(value: string): string {
  if (!isUuid(value)) throw new Error('must be the id of a workspace, as `matte-admin workspace create` prints it')
  return value
}

type Known<Name> = { readonly names: readonly Name[]; readonly of: string }

function checkModels<Name extends string>(value: unknown, { names, of }: Known<Name>): ModelTable<Name> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('must be a JSON object')
  for (const [name, model] of Object.entries(value)) {
    if (!names.some((known) => known === name)) throw new Error(`must name ${of}: ${names.join(', ')}`)
    if (typeof model !== 'string' || model === '') throw new Error(`must map ${name} to the name of a model`)
  }
  return value as ModelTable<Name>
}

/** @throws ConfigError that names the missing setting */
export function checkDoors({ doorsRembg, doorsRembgNetworks, doorsRembgWorkspace }: Infer<typeof doorSettings>): void {
  if (!doorsRembg) return
  if (doorsRembgNetworks.length === 0) {
    throw new ConfigError('DOORS_REMBG_NETWORKS: name the networks of your clients; DOORS_REMBG has no keys')
  }
  if (doorsRembgWorkspace === undefined) {
    throw new ConfigError('DOORS_REMBG_WORKSPACE: name the workspace that owns the tasks of DOORS_REMBG')
  }
}
