import { createFileRoute } from '@tanstack/react-router'
import { PlaygroundPage } from '../pages/playground/playground-page.tsx'

export const Route = createFileRoute('/')({ component: PlaygroundPage })
