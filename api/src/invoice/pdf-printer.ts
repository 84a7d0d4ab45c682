// Prints invoices in a worker thread: a page takes 0.1 s of CPU. Only the thread loads the library and fonts; it ends
// after a minute without work.
import { MatteError } from '@matte/core/error'
import type { Piscina } from 'piscina'
import type { InvoiceForPdf } from './invoice-pdf.ts'

export type PdfPrinter = {
  /** Concurrent calls for the same id share one run. @throws MatteError RATE_LIMIT_EXCEEDED when too many wait */
  print(id: string, invoice: InvoiceForPdf): Promise<Uint8Array>
  close(): Promise<void>
}

/** At 0.1 s each, the last one waits 2 s. */
const waitingMax = 20
const idleMs = 60_000
const timeoutMs = 30_000

export function pdfPrinter(): PdfPrinter {
  let pool: Promise<Piscina> | undefined
  const printing = new Map<string, Promise<Uint8Array>>()

  async function printNow(invoice: InvoiceForPdf): Promise<Uint8Array> {
    pool ??= openPool()
    return (await pool).run(invoice, { signal: AbortSignal.timeout(timeoutMs) })
  }

  async function print(id: string, invoice: InvoiceForPdf): Promise<Uint8Array> {
    const running = printing.get(id)
    if (running !== undefined) return running
    if (printing.size >= waitingMax) {
      const message = 'Too many invoices are being printed; try again in a few seconds.'
      throw new MatteError('RATE_LIMIT_EXCEEDED', message, { details: { limit: 'capacity' }, retryAfterSeconds: 2 })
    }
    const started = printNow(invoice).finally(() => printing.delete(id))
    printing.set(id, started)
    return started
  }

  return { print, close: async () => (await pool)?.close({ force: true }) }
}

async function openPool(): Promise<Piscina> {
  const { Piscina } = await import('piscina')
  const filename = new URL('./pdf-worker.ts', import.meta.url).href
  return new Piscina({ filename, minThreads: 0, maxThreads: 1, idleTimeout: idleMs, recordTiming: false })
}
