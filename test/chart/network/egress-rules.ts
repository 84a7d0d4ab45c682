// Evaluates NetworkPolicies of one namespace: may a pod open a connection? IPv4 and IPv6, numeric ports.
import { BlockList, isIPv6 } from 'node:net'

type Labels = Readonly<Record<string, string>>

type Expression = { readonly key: string; readonly operator: string; readonly values?: readonly string[] }

type Selector = { readonly matchLabels?: Labels; readonly matchExpressions?: readonly Expression[] }

type Peer = {
  readonly podSelector?: Selector
  readonly namespaceSelector?: Selector
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] }
}

type EgressRule = {
  readonly to?: readonly Peer[]
  readonly ports?: readonly { readonly port: number; readonly protocol?: string }[]
}

export type NetworkPolicy = {
  readonly spec: {
    readonly podSelector: Selector
    readonly policyTypes: readonly string[]
    readonly egress?: readonly EgressRule[]
  }
}

/** A pod, or an address outside of the cluster. */
export type Destination = {
  /** Labels of a pod in the policies' namespace, or in the namespace with the labels `namespace`. */
  readonly pod?: Labels
  readonly namespace?: Labels
  readonly address?: string
  readonly port: number
  /** Default: TCP. */
  readonly protocol?: string
}

/** True if no policy selects the pod, or one that does has a rule for the destination. */
export function mayReach(policies: readonly NetworkPolicy[], from: Labels, destination: Destination): boolean {
  const own = policies.filter(({ spec }) => spec.policyTypes.includes('Egress') && matches(spec.podSelector, from))
  return own.length === 0 || own.some(({ spec }) => (spec.egress ?? []).some((rule) => allows(rule, destination)))
}

/** An absent or empty list matches everything. */
const allows = ({ to = [], ports = [] }: EgressRule, destination: Destination): boolean =>
  (to.length === 0 || to.some((peer) => isPeer(peer, destination))) &&
  (ports.length === 0 ||
    ports.some(
      ({ port, protocol = 'TCP' }) => port === destination.port && protocol === (destination.protocol ?? 'TCP'),
    ))

/** An ipBlock matches no pod here, as in the strictest network plugins. */
function isPeer({ podSelector, namespaceSelector, ipBlock }: Peer, { pod, namespace, address }: Destination): boolean {
  if (ipBlock !== undefined)
    return address !== undefined && isIn(ipBlock.cidr, address) && !isExcepted(ipBlock, address)
  if (pod === undefined) return false
  const inNamespace =
    namespaceSelector === undefined ? namespace === undefined : matches(namespaceSelector, namespace ?? {})
  return inNamespace && matches(podSelector ?? {}, pod)
}

const isExcepted = ({ except = [] }: NonNullable<Peer['ipBlock']>, address: string): boolean =>
  except.some((cidr) => isIn(cidr, address))

function isIn(cidr: string, address: string): boolean {
  const [network = '', prefix = ''] = cidr.split('/')
  if (isIPv6(network) !== isIPv6(address)) return false
  const family = isIPv6(network) ? 'ipv6' : 'ipv4'
  const list = new BlockList()
  list.addSubnet(network, Number(prefix), family)
  return list.check(address, family)
}

function matches({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([name, value]) => labels[name] === value) &&
    matchExpressions.every((expression) => holds(expression, labels))
  )
}

function holds({ key, operator, values = [] }: Expression, labels: Labels): boolean {
  switch (operator) {
    case 'Exists':
      return key in labels
    case 'DoesNotExist':
      return !(key in labels)
    case 'In':
      return values.includes(labels[key] ?? '')
    default:
      throw new Error(`operator ${operator} is not evaluated here`)
  }
}
