// Outcomes of runs and attempts in the benchmark.

export const success = (task: { readonly id: string; readonly run: number; readonly claim: string }) =>
  ({
    status: 'succeeded',
    resultKey: `results/2026/01/${task.id}/${task.run}-${task.claim}.png`,
    resultFormat: 'png',
    resultSizeBytes: 100,
    width: 1,
    height: 1,
    foreground: null,
  }) as const

export const delivered = {
  statusCode: 200,
  error: null,
  responseBody: '{"ok":true}',
  durationMs: 20,
  endedAgoMs: 0,
  policy: { maxRetries: 12, retryUnitMs: 60_000 },
}

export const onePixelPng = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==',
  'base64',
)
