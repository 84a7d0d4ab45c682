// The revision that a pool asks for: one that exists and was built from the same inputs, or else what today's builder
// makes of the pool.
import type { RolloutStatus } from '../pool/pool-status.ts'
import { type Built, builderVersion } from './built.ts'

export type KnownRevision = {
  readonly revision: string
  readonly hasDeployment: boolean
  /** Undefined: made before revisions recorded this. */
  readonly built: Built | undefined
}

export type TargetInput = {
  /** Digest of the pool's inputs now. */
  readonly inputs: string
  /** Revision that today's builder makes of them. */
  readonly today: string
  /** Valid value of matte.dev/rebuild. */
  readonly rebuild: string | undefined
  /** Revisions that have a Deployment, or that status describes. */
  readonly known: readonly KnownRevision[]
  readonly rollout: Partial<RolloutStatus> | undefined
  /** Status was computed from the spec as it is now. */
  readonly isSpecSeen: boolean
  /** The owner asks for the revision that was rolled back once more. */
  readonly isRetried: boolean
}

export type TargetBuild = { readonly revision: string; readonly built: Built }

export function chooseTarget(input: TargetInput): TargetBuild {
  const { inputs, today, rebuild, known, rollout = {} } = input
  const isWanted = ({ built }: KnownRevision): boolean =>
    built?.inputs === inputs && (rebuild === undefined || built.rebuild === rebuild)
  const order = [rollout.stable, rollout.canary, rollout.failed?.revision]
  const rank = ({ revision }: KnownRevision): number =>
    order.includes(revision) ? order.indexOf(revision) : order.length
  const [kept] = known
    .filter((one) => isWanted(one) && canBeKept(one, input))
    // The stable one first: without its rebuild annotation a rollout that began for it is withdrawn.
    .sort((a, b) => rank(a) - rank(b) || (b.built?.builder ?? 0) - (a.built?.builder ?? 0))
  if (kept?.built !== undefined) return { revision: kept.revision, built: kept.built }
  const adopted = rebuild === undefined ? findAdoptable(input) : undefined
  if (adopted !== undefined) return { revision: adopted, built: { builder: 1, inputs } }
  return { revision: today, built: { builder: builderVersion, inputs, ...(rebuild !== undefined && { rebuild }) } }
}

/**
 * Records for Deployments that have none. A status for the present spec must not exist before them: a held rollout
 * writes one without a canary, and findAdoptable would then adopt a revision of the former spec. Digest '' equals no
 * inputs. Only a rebuild replaces a revision that was made for the present inputs.
 */
export function findMissingRecords(input: TargetInput): ReadonlyMap<string, Built> {
  const adoptable = input.rebuild === undefined ? undefined : findAdoptable(input)
  return new Map(
    input.known
      .filter(({ hasDeployment, built }) => hasDeployment && built === undefined)
      .map(({ revision }) => [revision, { builder: 1, inputs: revision === adoptable ? input.inputs : '' }]),
  )
}

/** Without its Deployment the template of a former builder is unknown, which does only while it is rolled back. */
const canBeKept = ({ revision, hasDeployment }: KnownRevision, { today, rollout, isRetried }: TargetInput): boolean =>
  hasDeployment || revision === today || (rollout?.failed?.revision === revision && !isRetried)

/**
 * A revision from before revisions recorded their inputs, which the former operator took for that of the present spec.
 * During a rollout or a rollback the former status does not say which revision spec asks for, and neither does a lost
 * status. Today's builder then decides, at the price of one rollout too many.
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
