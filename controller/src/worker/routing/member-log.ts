import type { Logger } from 'pino'
import { type Member, type ModelAnswer, slotsOf } from './pod-member.ts'
import { isUsable } from './pod-probation.ts'

/** After so many probes without success, some eight seconds, a pod that should be there is worth a line in the log. */
const missesLogged = 5

/** What a person wants to know of a change; most changes are nothing of the kind. */
export function logChange(logger: Logger, before: Member, after: Member): void {
  const { spec, standing } = after
  const { name: pod, revision, address } = spec
  const fields = { pod, pool: spec.models[0]?.pool, revision }
  if (before.spec.accepts && !spec.accepts) logger.info({ pod, revision }, 'pod gets no new requests')
  if (standing === before.standing) return
  if (standing.state === 'ejected' && isUsable(before.standing)) {
    logger.warn({ ...fields, reason: standing.reason, in_a_row: standing.ejections }, 'pod taken out')
  } else if (isUsable(standing) && standing.state !== before.standing.state) {
    const probation = standing.state === 'probation'
    logger.info({ ...fields, probation, slots: slotsOf(after), models: modelsOf(after) }, 'pod ready')
  } else if (standing.state === 'joining' && standing.misses === missesLogged && after.errors.size === 0) {
    logger.warn({ ...fields, address }, 'pod should be there, and its models are not ready from here')
  }
}

/** What it serves: nodes with other processors have other forms of a model. */
const modelsOf = ({ shapes }: Member) => [...shapes].map(([name, { form, views }]) => ({ name, form, views }))

/** Once for each error, and once when it is gone. */
export function logModelAnswer(logger: Logger, { spec, errors }: Member, model: string, answer: ModelAnswer): void {
  const fields = { pod: spec.name, model }
  if (answer instanceof Error) {
    if (errors.get(model)?.message !== answer.message) logger.warn({ ...fields, err: answer }, 'pod not usable')
  } else if (typeof answer === 'object' && errors.has(model)) logger.info(fields, 'pod usable again')
}
