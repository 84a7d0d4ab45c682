import { createFileRoute } from '@tanstack/react-router'
import { BatchesPage } from '../../pages/batches/batches-page.tsx'

export const Route = createFileRoute('/_signed/batches/')({ component: BatchesPage })
