/** Counters of one workspace and one UTC day, changed in the transactions that they count (D70). */
export type UsageDayTable = {
  workspace_id: string
  day: string
  created: number
  succeeded: number
  failed: number
  canceled: number
  credits: number
  /** Milliseconds from creation to completion, summed over succeeded tasks. */
  latency_ms: number
  api_requests: number
}
