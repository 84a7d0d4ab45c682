// Work of one attempt, as its event in the history reports it.

/** Stages in their order; `wait` is time without memory or a free slot of a pod. */
export const attemptStages = ['fetch', 'decode', 'prepare', 'wait', 'infer', 'refine', 'encode', 'store'] as const

export type AttemptStage = (typeof attemptStages)[number]

export type AttemptWork = {
  /** Absent before a pod was chosen, and for servers that Kubernetes does not run. */
  readonly pod?: string | undefined
  readonly revision?: string | undefined
  /** Absent before a pod was chosen. */
  readonly pool?: string | undefined
  /** Name in Triton. */
  readonly model?: string | undefined
  /** Whole milliseconds of the stages that began. */
  readonly stagesMs: Readonly<Partial<Record<AttemptStage, number>>>
}

/** Members of the event's payload. */
export const workPayload = ({ stagesMs, ...served }: AttemptWork) => ({ ...served, stages_ms: stagesMs })
