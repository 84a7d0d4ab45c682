import { createFileRoute } from '@tanstack/react-router'
import { LoadPage } from '../../pages/operator/load-page.tsx'

export const Route = createFileRoute('/_operator/operator/load')({ component: LoadPage })
