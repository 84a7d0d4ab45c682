/** Clients use `s3`; the others connect the store's own parts. */
export type ObjectStorePorts = {
  readonly s3: number
  readonly s3Grpc: number
  readonly master: number
  readonly masterGrpc: number
  readonly volume: number
  readonly volumeGrpc: number
  readonly filer: number
  readonly filerGrpc: number
  readonly admin: number
  /** Always `admin` + 10,000. */
  readonly adminGrpc: number
}

/** The ports for a fixed S3 port: eight in a row 10,000 above it (below, near the end of the range), and `s3` + 8. */
export function deriveObjectStorePorts(s3: number): ObjectStorePorts {
  const first = s3 > 50_000 ? s3 - 10_000 : s3 + 10_000
  const inner = Array.from({ length: 8 }, (_, index) => first + 1 + index)
  return toObjectStorePorts([s3, ...inner])
}

/** Nine ports as the store uses them: `s3` first, the gRPC port of its admin part last. */
export function toObjectStorePorts([
  s3 = 0,
  s3Grpc = 0,
  master = 0,
  masterGrpc = 0,
  volume = 0,
  volumeGrpc = 0,
  filer = 0,
  filerGrpc = 0,
  adminGrpc = 0,
]: readonly number[]): ObjectStorePorts {
  const admin = adminGrpc - 10_000
  return { s3, s3Grpc, master, masterGrpc, volume, volumeGrpc, filer, filerGrpc, admin, adminGrpc }
}
