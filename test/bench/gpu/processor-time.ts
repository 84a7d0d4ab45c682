import { listRecords, pidFileOf, readLiveRecord } from '@matte/local/lifecycle/pid-file'
import { processorMs } from '../pipeline/processor-time.ts'

/** CPU milliseconds so far of each process started in the folder, with descendants and threads. */
export function processorTimes(runDir: string): Map<string, number> {
  const records = listRecords(runDir).flatMap((name) => readLiveRecord(pidFileOf(runDir, name)) ?? [])
  return new Map(records.map(({ name, pid }) => [name, processorMs(pid)]))
}
