import { createFileRoute } from '@tanstack/react-router'
import { BatchPage } from '../../pages/batches/batch-page.tsx'

export const Route = createFileRoute('/_signed/batches/$batchId')({ component: BatchPage })
