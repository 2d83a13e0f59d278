/** The settings of how requests pass through, by the section of their screen. */

export const trafficSections = {
  wayOut: ["network.proxyMode", "network.proxyUrl", "network.egressCheckUrl"],
  patience: [
    "network.connectTimeoutMs",
    "network.responseStartTimeoutMs",
    "network.streamReadinessTimeoutMs",
    "network.streamReadinessMaxTimeoutMs",
    "network.streamContentStallTimeoutMs",
    "network.streamIdleTimeoutMs",
  ],
  signsOfLife: [
    "gateway.keepAliveAfterMs.messages",
    "gateway.keepAliveAfterMs.responses",
    "gateway.keepAliveAfterMs.chat",
    "gateway.keepAliveAfterMs.gemini",
    "gateway.keepAliveIntervalMs",
    "gateway.heartbeatIntervalMs",
  ],
  promptCache: ["translation.cacheControlMode"],
  tools: ["translation.foreignTools", "translation.toolLimitTruncate"],
  bounds: ["gateway.bodyLimitBytes", "gateway.maxConnections", "gateway.drainTimeoutMs"],
} as const;

export type TrafficSection = keyof typeof trafficSections;

export const trafficSectionNames = Object.keys(trafficSections) as TrafficSection[];

export function trafficSectionOf(path: string): TrafficSection | undefined {
  return trafficSectionNames.find((name) => (trafficSections[name] as readonly string[]).includes(path));
}
