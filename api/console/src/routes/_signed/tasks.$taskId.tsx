import { createFileRoute } from '@tanstack/react-router'
import { TaskPage } from '../../pages/gallery/task-page.tsx'

export const Route = createFileRoute('/_signed/tasks/$taskId')({ component: TaskPage })
