// What a response says again of its request.

export const OF_REQUEST: ReadonlySet<string> = new Set([
  ...['instructions', 'input', 'prompt', 'reasoning', 'text', 'tools', 'tool_choice'],
  ...['metadata', 'conversation'],
])
