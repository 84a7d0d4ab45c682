/** What may be asked for as `modelVersion`; written by the controller only, read by the API with a 5 s cache. */
export type ModelTable = {
  name: string
  pool: string
  triton_model: string
  is_default: boolean
  available: boolean
}
