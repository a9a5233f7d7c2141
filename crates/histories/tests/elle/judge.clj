; Reads histories of lists, as bakeoff exports them for Elle, and says of each what every level forbids of what Elle found:
; "FILE LEVEL ok", "FILE LEVEL ANOMALY,ANOMALY", or "FILE LEVEL refused".
(require '[clojure.edn :as edn]
         '[clojure.string :as str]
         '[elle.list-append :as list-append]
         '[jepsen.history :as history])

(def levels
  [:read-uncommitted :read-committed :snapshot-isolation :serializable :strong-session-serializable :strict-serializable])

(defn events [path]
  (history/history (mapv edn/read-string (str/split-lines (slurp path)))))

(defn verdict [events level]
  (try
    (let [report (list-append/check {:consistency-models [level]} events)]
      (case (:valid? report)
        true "ok"
        :unknown "unknown"
        (str/join "," (sort (map name (:anomaly-types report))))))
    ; Elle refuses a value that nobody appended.
    (catch AssertionError _ "refused")))

(doseq [path *command-line-args*
        :let [events (events path)]
        level levels]
  (println path (name level) (verdict events level)))

(shutdown-agents)
