// Measures the memory of a running process through its inspector, after a full garbage collection.

export interface Memory {
  readonly heapUsed: number
  readonly arrayBuffers: number
  readonly rss: number
}

export interface Inspector {
  /** Returns the memory in bytes, after a garbage collection. */
  memory(): Promise<Memory>
  close(): void
}

interface Answer {
  readonly id?: number
  readonly result?: { readonly result?: { readonly value?: unknown } }
}

/** port: of --inspect, of a process that listens there. */
export async function openInspector(port: number): Promise<Inspector> {
  const list = await fetch(`http://127.0.0.1:${String(port)}/json/list`)
  const [target] = (await list.json()) as { webSocketDebuggerUrl: string }[]
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '')
  await new Promise((resolve, reject) => {
    socket.onopen = resolve
    socket.onerror = reject
  })
  const waiting = new Map<number, (answer: Answer) => void>()
  socket.onmessage = ({ data }) => {
    const answer = JSON.parse(String(data)) as Answer
    if (answer.id !== undefined) waiting.get(answer.id)?.(answer)
  }
  let last = 0
  const ask = (method: string, params: object = {}): Promise<Answer> =>
    new Promise((resolve) => {
      last += 1
      waiting.set(last, resolve)
      socket.send(JSON.stringify({ id: last, method, params }))
    })
  return {
    memory: async () => {
      // What finalizers and timers let go of is gone with the second one.
      await ask('HeapProfiler.collectGarbage')
      await ask('HeapProfiler.collectGarbage')
      const expression = 'JSON.stringify(process.memoryUsage())'
      const { result } = await ask('Runtime.evaluate', { expression })
      return JSON.parse(String(result?.result?.value)) as Memory
    },
    close: () => socket.close(),
  }
}
