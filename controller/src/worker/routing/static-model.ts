/** One model of `models.static` (D84): where it is served when no TritonPool says so. */
export type StaticModel = {
  /** The public `modelVersion`. */
  readonly name: string
  /** The model's folder in the repository. */
  readonly tritonModel: string
  /** `host:port` of each Triton's gRPC. */
  readonly addresses: readonly string[]
  readonly default: boolean
}
