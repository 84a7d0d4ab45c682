// The revision that a pool asks for: an existing one with the same inputs, so an upgrade of the operator restarts no
// pods (A156), else the newest build.
import type { RolloutStatus } from '../pool/pool-status.ts'
import { type BuildRecord, builderVersion } from './build-record.ts'

export type KnownRevision = {
  readonly revision: string
  readonly hasDeployment: boolean
  readonly built: BuildRecord | undefined
}

export type TargetInput = {
  readonly inputs: string
  readonly today: string
  readonly rebuild: string | undefined
  readonly known: readonly KnownRevision[]
  readonly rollout: Partial<RolloutStatus> | undefined
  readonly isSpecSeen: boolean
  readonly isRetried: boolean
}

export type TargetBuild = { readonly revision: string; readonly built: BuildRecord }

export function chooseTarget(input: TargetInput): TargetBuild {
  const { inputs, today, rebuild, known, rollout = {} } = input
  const isWanted = ({ built }: KnownRevision): boolean =>
    built?.inputs === inputs && (rebuild === undefined || built.rebuild === rebuild)
  const order = [rollout.stable, rollout.canary, rollout.failed?.revision]
  const rank = ({ revision }: KnownRevision): number =>
    order.includes(revision) ? order.indexOf(revision) : order.length
  const [kept] = known
    .filter((one) => isWanted(one) && canBeKept(one, input))
    // Prefers the stable one: if its rebuild annotation is removed, the rollout of the rebuild is withdrawn.
    .sort((a, b) => rank(a) - rank(b) || (b.built?.builder ?? 0) - (a.built?.builder ?? 0))
  if (kept?.built !== undefined) return { revision: kept.revision, built: kept.built }
  const adopted = rebuild === undefined ? findAdoptable(input) : undefined
  if (adopted !== undefined) return { revision: adopted, built: { builder: 1, inputs } }
  return { revision: today, built: { builder: builderVersion, inputs, ...(rebuild !== undefined && { rebuild }) } }
}

/**
 * Records for Deployments without one. They must precede a status of the current spec: a held rollout writes one
 * without a canary, and findAdoptable would then adopt a revision of the former spec. The digest '' matches no inputs.
 */
export function findMissingRecords(input: TargetInput): ReadonlyMap<string, BuildRecord> {
  const adoptable = input.rebuild === undefined ? undefined : findAdoptable(input)
  return new Map(
    input.known
      .filter(({ hasDeployment, built }) => hasDeployment && built === undefined)
      .map(({ revision }) => [revision, { builder: 1, inputs: revision === adoptable ? input.inputs : '' }]),
  )
}

/** Without a Deployment an old builder's template is unknown, which is acceptable only for a rolled-back revision. */
const canBeKept = ({ revision, hasDeployment }: KnownRevision, { today, rollout, isRetried }: TargetInput): boolean =>
  hasDeployment || revision === today || (rollout?.failed?.revision === revision && !isRetried)

/**
 * A revision without a record that the former operator considered current. Its status is ambiguous during a rollout or
 * rollback, or if lost; the newest builder then decides, at the cost of one extra rollout.
 */
function findAdoptable({ known, rollout = {}, isSpecSeen, isRetried }: TargetInput): string | undefined {
  const { stable, canary, failed } = rollout
  if (!isSpecSeen || canary !== undefined) return undefined
  const asked = failed?.revision ?? stable
  if (asked === undefined || known.some(({ revision, built }) => revision === asked && built !== undefined)) {
    return undefined
  }
  const hasDeployment = known.some(({ revision, hasDeployment }) => revision === asked && hasDeployment)
  return hasDeployment || (failed !== undefined && !isRetried) ? asked : undefined
}
